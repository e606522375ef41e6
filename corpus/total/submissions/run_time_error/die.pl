my $n = <STDIN>;
die "unlucky\n" if $n == 13;
my $sum = 0;
$sum += $_ while <STDIN>;
print "$sum\n";
