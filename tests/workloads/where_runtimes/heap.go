// Keeps one in ten blocks, frees the others, and prints what runtime.ReadMemStats says: in use,
// committed and kept, then "ready".
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
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
	debug.SetGCPercent(-1) // nor are free pages given back from here on
	time.Sleep(100 * time.Millisecond)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("go", m.HeapAlloc, m.HeapSys-m.HeapReleased, m.HeapIdle-m.HeapReleased)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
	fmt.Println(len(kept))
}
