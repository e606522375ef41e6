my @all;
push @all, [1 .. 1000] while 1;
