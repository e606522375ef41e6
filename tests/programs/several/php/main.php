<?php
require "adder.php";
echo add(40, 2), "\n";
