import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

class Reasons {
    private final Path feedback;

    Reasons(Path feedback) {
        this.feedback = feedback;
    }

    void reject(String reason) throws IOException {
        Files.writeString(feedback.resolve("judgemessage.txt"), reason + "\n");
        System.exit(43);
    }
}
