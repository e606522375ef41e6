use strict;
use Adder;

print Adder::add(40, 2), "\n";
