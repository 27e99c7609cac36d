<prompt schema="city-guide">
  <user><oslo/><lisbon/><vienna/><kyoto/>What does the tram of Vienna cost?</user>
</prompt>
