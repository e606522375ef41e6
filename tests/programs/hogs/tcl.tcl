set all {}
while 1 {lappend all [string repeat x[llength $all] 10000]}
