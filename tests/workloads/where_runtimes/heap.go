// Keeps one in ten blocks, frees the others, and prints what runtime.ReadMemStats says: in use,
// committed and kept, once that stays as it is, then "ready".
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

var kept [][]byte

func main() {
	for i := 0; i < 40000; i++ {
		b := make([]byte, 64+i*7919%8000)
		if i%10 == 0 {
			kept = append(kept, b)
		}
	}
	runtime.GC()
	var m, before runtime.MemStats
	for i := 0; i < 100; i++ { // free pages are given back meanwhile
		runtime.ReadMemStats(&m)
		if m.HeapReleased == before.HeapReleased {
			break
		}
		before = m
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Println("go", m.HeapAlloc, m.HeapSys-m.HeapReleased, m.HeapIdle-m.HeapReleased)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
	fmt.Println(len(kept))
}
