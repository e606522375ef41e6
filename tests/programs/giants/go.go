package main

import "fmt"

func main() {
	n := 1 << 40
	fmt.Println(len(make([]int64, n)))
}
