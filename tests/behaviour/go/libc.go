//go:build cgo

package main

/*
#include <pthread.h>
#include <stdlib.h>

static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	return arg;
}

static int threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return -1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 4;
}
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

func cgo() {
	var wg sync.WaitGroup
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := C.CString("a string of C's")
			C.free(unsafe.Pointer(s))
			C.threads()
		}()
	}
	wg.Wait()
	fmt.Println(C.threads())
}
