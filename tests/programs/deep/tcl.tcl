interp recursionlimit {} 1000000
proc depth n {expr {$n ? 1 + [depth [expr {$n - 1}]] : 0}}
puts [depth 100000]
