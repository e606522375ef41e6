use strict;
print "Hello, World!\n";
