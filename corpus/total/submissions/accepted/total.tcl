gets stdin n
set sum 0
for {set i 0} {$i < $n} {incr i} {
    gets stdin x
    incr sum $x
}
puts $sum
