// Rules: X4 X7
// Attack: starts a program, or opens a connection, by the runtime's own library.
// Each: execve socket
// Expect: forbidden_syscall $1
// Limits: memory_bytes=768MiB processes=64 cpu_ms=30000 wall_ms=60000
import java.net.Socket;

class JavaEscape {
    public static void main(String[] arguments) throws Exception {
        System.out.println("started");
        System.out.flush();
        if (arguments[0].equals("execve")) {
            new ProcessBuilder("/bin/true").start().waitFor();
        } else {
            new Socket("127.0.0.1", 80).close();
        }
        System.out.println("got through");
        System.exit(1);
    }
}
