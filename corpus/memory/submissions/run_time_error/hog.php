<?php
$n = (int) fgets(STDIN);
$memory = [];
for ($i = 0; $i < $n; $i++) {
    $memory[] = str_repeat("x", 1 << 20);
}
echo count($memory), "\n";
