import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A Keelson API server for tests in Java, or a fork of one; needs nothing but the JDK, 17 or newer.
 * Clients such as fabric8's take {@link #kubeconfig()}.
 */
final class Keelson implements AutoCloseable {
    private final String description;
    /** Null for a fork. */
    private final Process process;
    private final HttpClient client;

    private Keelson(String description, Process process) throws IOException, GeneralSecurityException {
        this.description = description;
        this.process = process;
        this.client = HttpClient.newBuilder().sslContext(trusting(field("ca"))).build();
    }

    /**
     * Starts {@code keelson testserver}, which ends with this process. The environment variable
     * KEELSON names the command if keelson is not on PATH.
     */
    static Keelson start(String... flags) throws IOException, GeneralSecurityException {
        String command = System.getenv().getOrDefault("KEELSON", "keelson");
        List<String> words = new ArrayList<>(List.of(command.split(" ")));
        words.add("testserver");
        words.addAll(List.of(flags));
        Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader output = process.inputReader();
        return new Keelson(output.readLine(), process);
    }

    String kubeconfig() {
        return field("kubeconfig");
    }

    /** Calls the API as the administrator; a null body sends none. */
    HttpResponse<String> request(String method, String path, String contentType, String body)
            throws IOException, InterruptedException {
        return send(method, field("url") + path, field("token"), contentType, body);
    }

    /** Calls the control interface: /fork, /reset, /faults, /requests, /clock. */
    String control(String method, String path, String body) throws IOException, InterruptedException {
        String url = field("control") + path;
        HttpResponse<String> response = send(method, url, field("controlToken"), "application/json", body);
        if (response.statusCode() >= 400) throw new IOException(response.body());
        return response.body();
    }

    /** An isolated copy of the server; {@link #close()} ends it. */
    Keelson fork() throws IOException, InterruptedException, GeneralSecurityException {
        return new Keelson(control("POST", "/fork", null), null);
    }

    /** Ends the program or the fork. */
    @Override
    public void close() throws IOException, InterruptedException {
        if (process == null) {
            control("DELETE", "", null);
        } else {
            process.destroy();
            process.waitFor();
        }
    }

    private HttpResponse<String> send(String method, String url, String token, String contentType, String body)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", contentType)
                .build();
        return client.send(request, BodyHandlers.ofString());
    }

    /** A member of the description, which is a flat JSON object of strings. */
    private String field(String name) {
        var found = Pattern.compile('"' + name + "\":\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(description);
        if (!found.find()) throw new IllegalStateException("no " + name + " in " + description);
        return found.group(1).replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    }

    private static SSLContext trusting(String authority) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        var pem = new ByteArrayInputStream(authority.getBytes());
        store.setCertificateEntry("keelson", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context;
    }
}
