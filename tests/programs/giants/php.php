<?php
echo strlen(str_repeat("x", 1 << 40)), "\n";
