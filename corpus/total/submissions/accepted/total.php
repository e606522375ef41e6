<?php
$n = (int) fgets(STDIN);
$sum = 0;
for ($i = 0; $i < $n; $i++) {
    $sum += (int) fgets(STDIN);
}
echo $sum, "\n";
