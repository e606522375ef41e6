import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

public class Streams {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String[] head = in.readLine().split(" ");
        Map<String, Integer> votes = new TreeMap<>();
        for (int i = 0; i < Integer.parseInt(head[0]); i++) {
            votes.merge(in.readLine(), 1, Integer::sum);
        }
        votes.entrySet().stream()
            .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
            .limit(Integer.parseInt(head[1]))
            .forEach(each -> System.out.println(each.getKey() + " " + each.getValue()));
    }
}
