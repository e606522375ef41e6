<?php
// Prints what a program can see of its environment, except times, addresses and its libraries.
function text($name) { return @file_get_contents($name) ?: "none"; }
function names($name) { return implode(" ", @scandir($name) ?: ["none"]); }
function lines($all, $without) { return implode("\n", preg_grep($without, explode("\n", $all), PREG_GREP_INVERT)); }
function shown($all) { ksort($all); return json_encode($all, JSON_PARTIAL_OUTPUT_ON_ERROR); }
$server = $_SERVER;
$fresh = abs(microtime(true) - $server["REQUEST_TIME_FLOAT"]) < 1;
unset($server["REQUEST_TIME"], $server["REQUEST_TIME_FLOAT"]);
echo "arguments $argc ", json_encode($argv), " ", __FILE__, " ", get_include_path(), "\n";
echo "server ", $fresh ? "fresh " : "old ", shown($server), shown($_ENV), shown(getenv()), "\n";
echo "globals ", implode(" ", array_keys($GLOBALS)), "\n";
echo "extensions ", implode(" ", get_loaded_extensions()), "\n";
echo "settings ", shown(ini_get_all()), php_ini_loaded_file(), php_ini_scanned_files(), "\n";
echo "functions ", count(get_defined_functions()["internal"]), " ", count(get_declared_classes()), "\n";
echo "constants ", count(get_defined_constants()), " ", PHP_SAPI, " ", PHP_BINARY, "\n";
echo "files ", implode(" ", get_included_files()), "\n";
echo "memory ", memory_get_usage(), " ", memory_get_peak_usage(), "\n";
echo "environ ", rtrim(text("/proc/self/environ"), "\0"), "\n", text("/proc/self/cmdline"), "\n";
echo "descriptors ", names("/proc/self/fd"), "\n";
echo "ids ", getmypid(), " ", getmyuid(), "\n";
echo "status ", lines(text("/proc/self/status"), "/^(Vm|Rss|vol|nonvol|FDSize|Spec)/"), "\n";
echo text("/proc/self/limits"), names("/code"), names("/work"), names("/"), getcwd(), "\n";
foreach ([STDIN, STDOUT, STDERR] as $stream) {
    $facts = stream_get_meta_data($stream);
    echo "stream ", (int) $stream, " ", shown($facts), " ", stream_isatty($stream) ? "terminal" : "none", "\n";
}
echo "input ", fgets(STDIN);
fwrite(STDERR, "to stderr\n");
register_shutdown_function(function () { echo "at the end\n"; });
class Visible { function __destruct() { echo "destroyed\n"; } }
$visible = new Visible();
throw new Exception("the message is the same, too");
