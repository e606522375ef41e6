my $size = 1 << 40;
print length("x" x $size), "\n";
