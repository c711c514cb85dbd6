/** What waits for a person's word: new memories of a session, what was applied, what a rule confirmed. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get, type Schema } from "./api";
import { useProject, useSessions } from "./queries";
import { useRoute } from "./router";

export type ReviewItem = Schema["ReviewItem"];

export function useReview() {
  const project = useProject();
  const { id } = useRoute();
  const sessions = useSessions().data?.items ?? [];
  const found = useQuery({
    queryKey: ["review", project, id],
    queryFn: ({ signal }) => get("/api/review", { query: { session: id }, signal }),
    placeholderData: keepPreviousData,
  });
  return {
    session: sessions.find((one) => one.id === id) ?? null,
    sessions,
    groups: found.data ?? null,
    isPending: found.isPending,
    error: found.error,
    retry: () => void found.refetch(),
  };
}
