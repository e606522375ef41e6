gets stdin n
set memory {}
for {set i 0} {$i < $n} {incr i} {
    lappend memory [string repeat [expr {$i % 10}] 1048576]
}
puts [llength $memory]
