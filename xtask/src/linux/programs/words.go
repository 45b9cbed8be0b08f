package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	words := map[string]int{}
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		for _, word := range strings.Fields(scanner.Text()) {
			words[word]++
		}
	}
	names := make([]string, 0, len(words))
	for name := range words {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return words[names[i]] > words[names[j]] || words[names[i]] == words[names[j]] && names[i] < names[j]
	})
	sums := make([]int, 4)
	var group sync.WaitGroup
	for part := range sums {
		group.Add(1)
		go func(part int) {
			defer group.Done()
			for n := part; n < 200000; n += len(sums) {
				sums[part] += n * n % 7
			}
		}(part)
	}
	group.Wait()
	for _, name := range names[:10] {
		fmt.Println(words[name], name)
	}
	fmt.Println(sums)
}
