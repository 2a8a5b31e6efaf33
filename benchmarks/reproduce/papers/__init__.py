"""What each paper shows, table by table and figure by figure."""
