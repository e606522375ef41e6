// Rules: X4 X7
// Attack: starts a program with the runtime's library.
// Profile: java
// Expect: forbidden_syscall execve
// Limits: memory_bytes=768MiB processes=64 cpu_ms=30000 wall_ms=60000
class JavaExec {
    public static void main(String[] arguments) throws Exception {
        System.out.println("started");
        new ProcessBuilder("/bin/true").start().waitFor();
        System.out.println("got through");
        System.exit(1);
    }
}
