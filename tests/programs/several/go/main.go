package main

import "fmt"

func main() {
	fmt.Println(add(40, 2))
}
