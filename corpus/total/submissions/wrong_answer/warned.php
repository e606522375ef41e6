<?php
$n = (int) fgets(STDIN);
echo "Warning: sum\n";
