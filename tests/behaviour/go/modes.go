// Go: its own memory, stacks and signals; with cgo also libc's.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

func goroutines() {
	var wg sync.WaitGroup
	sums := make([]int, 200)
	for i := range sums {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			kept := map[int][]byte{}
			for k := 0; k < 200; k++ {
				kept[k%10] = make([]byte, 100+k)
			}
			sums[i] = len(kept) * i
		}(i)
	}
	wg.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	fmt.Println(sum)
}

func collect() {
	debug.SetGCPercent(10)
	var kept [][]byte
	for i := 0; i < 3000; i++ {
		kept = append(kept, make([]byte, 1000))
		if len(kept) > 100 {
			kept = kept[50:]
		}
	}
	runtime.GC()
	debug.FreeOSMemory()
	fmt.Println(len(kept) > 0)
}

func command() {
	for i := 0; i < 5; i++ {
		out, err := exec.Command("sh", "-c", "echo from Go; exit 3").CombinedOutput()
		fmt.Print(string(out), err, "\n")
	}
}

func panics() {
	defer func() {
		fmt.Println("recovered:", recover())
		os.Exit(6)
	}()
	var p *int
	*p = 1
}

func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for i := 0; i < 20; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-c
	}
	fmt.Println("20 signals")
}

func main() {
	modes := map[string]func(){
		"goroutines": goroutines, "collect": collect, "command": command, "panics": panics,
		"signals": signals, "cgo": cgo,
	}
	modes[os.Args[1]]()
}
