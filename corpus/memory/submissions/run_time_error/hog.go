package main

import "fmt"

func main() {
	var n int
	fmt.Scan(&n)
	memory := [][]byte{}
	for i := 0; i < n; i++ {
		more := make([]byte, 1<<20)
		for j := range more {
			more[j] = 1
		}
		memory = append(memory, more)
	}
	fmt.Println(len(memory))
}
