package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var n, x, sum int64
	fmt.Fscan(in, &n)
	for ; n > 0; n-- {
		fmt.Fscan(in, &x)
		sum += x
	}
	fmt.Println(sum)
}
