my ($n, @numbers) = <STDIN>;
print $numbers[-1];
