// Rules: X5 X7
// Attack: starts threads without end, and keeps the runtime from shutting down.
// Profile: java
// Expect: process_limit
// Limits: memory_bytes=768MiB processes=64 cpu_ms=30000 wall_ms=60000
class JavaThreads {
    public static void main(String[] arguments) {
        System.out.println("started");
        System.out.flush();
        Runtime.getRuntime().addShutdownHook(new Thread(JavaThreads::waitForever));
        while (true) {
            new Thread(JavaThreads::waitForever).start();
        }
    }

    static void waitForever() {
        while (true) {
            try {
                Thread.sleep(1000);
            } catch (InterruptedException ignored) {
                continue;
            }
        }
    }
}
