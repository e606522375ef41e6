package main

import "fmt"

func main() {
	var n int
	fmt.Scan(&n)
	numbers := make([]int, 1)
	fmt.Println(numbers[n+1])
}
