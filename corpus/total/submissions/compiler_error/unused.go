// @EXPECTED_RESULTS@: COMPILER-ERROR
package main

import "fmt"

func main() {
	n := 3
}
