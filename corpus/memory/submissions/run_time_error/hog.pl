my $n = <STDIN>;
my @memory = map { "x" x (1 << 20) . $_ } 1 .. $n;
print scalar(@memory), "\n";
