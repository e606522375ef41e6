<?php
$all = [];
while (true) {
    $all[] = range(0, 1000);
}
