no warnings "recursion";

sub depth {
    my ($n) = @_;
    return $n ? 1 + depth($n - 1) : 0;
}

print depth(100000), "\n";
