package Adder;

sub add {
    my ($a, $b) = @_;
    return $a + $b;
}

1;
