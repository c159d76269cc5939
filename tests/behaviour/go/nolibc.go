//go:build !cgo

package main

func cgo() { panic("there is no libc") }
