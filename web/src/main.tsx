import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app";
import { ApiError } from "@/lib/api";
import { startLanguages } from "@/lib/i18n";
import { startTheme } from "@/lib/theme";
import "@/theme.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // The server said no: asking again changes nothing, unless it was busy.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 503),
    },
    mutations: { retry: false },
  },
});

startTheme();
await startLanguages();
const root = document.querySelector("#root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
