<?php
function depth($n) {
    return $n ? 1 + depth($n - 1) : 0;
}
echo depth(100000), "\n";
