// Rules: X3 X7
// Attack: opens a connection with the runtime's library, which gets an error.
// Profile: java
// Args: $port
// Expect: ok
// Without NET: ok
// Limits: memory_bytes=768MiB processes=64 cpu_ms=30000 wall_ms=60000
import java.net.Socket;
import java.net.SocketException;

class JavaSocket {
    public static void main(String[] arguments) throws Exception {
        System.out.println("started");
        try (Socket socket = new Socket("127.0.0.1", Integer.parseInt(arguments[0]))) {
            System.out.println("got through: " + socket);
            System.exit(1);
        } catch (SocketException refused) {
            System.out.println("held");
        }
    }
}
