import java.io.IOException;

class Echo {
    public static void main(String[] args) throws IOException {
        System.in.transferTo(System.out);
        System.out.flush();
    }
}
