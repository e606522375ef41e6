package main

func main() {
	var all [][]int
	for {
		all = append(all, make([]int, 1<<12))
		all[len(all)-1][7] = len(all)
	}
}
