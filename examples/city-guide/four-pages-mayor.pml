<prompt schema="city-guide">
  <user><oslo/><lisbon/><vienna/><kyoto/>What is the mayor of Lisbon called?</user>
</prompt>
