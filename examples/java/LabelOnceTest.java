import java.net.http.HttpResponse;

/**
 * Tests of a method that labels a ConfigMap. They need no framework; with JUnit each method is a test.
 *
 * <pre>javac -d out *.java && java -cp out LabelOnceTest</pre>
 */
final class LabelOnceTest {
    private static final String MAPS = "/api/v1/namespaces/default/configmaps";
    private static final String JSON = "application/json";

    /** Labels the ConfigMap; tries again when another client was faster. */
    static int labelOnce(Keelson server, String name) throws Exception {
        String patch = "{\"metadata\":{\"labels\":{\"seen\":\"yes\"}}}";
        HttpResponse<String> response = null;
        for (int attempt = 0; attempt < 3; attempt++) {
            response = server.request("PATCH", MAPS + "/" + name, "application/merge-patch+json", patch);
            if (response.statusCode() != 409) break;
        }
        return response.statusCode();
    }

    static void labelsInSpiteOfAConflict(Keelson server) throws Exception {
        server.control("POST", "/faults", "{\"verb\":\"patch\",\"resource\":\"configmaps\",\"fail\":409}");
        expect(labelOnce(server, "a") == 200, "the label is not set");
        String stored = server.request("GET", MAPS + "/a", JSON, null).body();
        expect(stored.contains("\"labels\":{\"seen\":\"yes\"}"), stored);
        String writes = server.control("POST", "/requests", "{\"verb\":\"write\"}");
        expect(writes.split("\"verb\":\"patch\"").length == 3, "two attempts were expected: " + writes);
    }

    static void forksAreIsolated(Keelson server) throws Exception {
        try (Keelson other = server.fork()) {
            other.request("DELETE", MAPS + "/a", JSON, null);
            expect(other.request("GET", MAPS + "/a", JSON, null).statusCode() == 404, "it was not deleted");
        }
        expect(server.request("GET", MAPS + "/a", JSON, null).statusCode() == 200, "the fork is not isolated");
    }

    private static void expect(boolean holds, String message) {
        if (!holds) throw new AssertionError(message);
    }

    public static void main(String[] arguments) throws Exception {
        try (Keelson program = Keelson.start()) {
            program.request("POST", MAPS, JSON, "{\"metadata\":{\"name\":\"a\"}}");
            try (Keelson server = program.fork()) {
                labelsInSpiteOfAConflict(server);
            }
            try (Keelson server = program.fork()) {
                forksAreIsolated(server);
            }
        }
        System.out.println("2 tests passed");
    }
}
