use strict;
use warnings;

my $n = <STDIN>;
my $sum = 0;
$sum += <STDIN> for 1 .. $n;
print "$sum\n";
